"""Sentences about animals and vehicles, some negated: is an animal said to do something?"""

import itertools

import numpy as np

ANIMALS = ["dog", "cat", "horse", "cow", "sheep", "wolf", "tiger", "rabbit", "mouse", "fox"]
VEHICLES = ["car", "truck", "bus", "train", "tram", "van", "lorry", "taxi", "boat", "plane"]
PLACES = ["street", "park", "river", "house", "field", "market", "station", "bridge", "school"]
VERBS = ["moving", "waiting", "stopping", "turning"]
FORMS = {False: "The {} is {} near the {}.", True: "The {} is not {} near the {}."}

rows = [
    (FORMS[negated].format(noun, verb, place), noun in ANIMALS, negated)
    for noun, verb, place, negated in itertools.product(ANIMALS + VEHICLES, VERBS, PLACES, FORMS)
]
order = np.random.default_rng(0).permutation(len(rows))
texts = [rows[i][0] for i in order]
animal = np.array([rows[i][1] for i in order])
negated = np.array([rows[i][2] for i in order])
outcome = animal & ~negated
