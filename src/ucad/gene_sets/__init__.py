"""Gene sets from files, and which of them a factor's parents or children are enriched in."""

from __future__ import annotations

from ucad.gene_sets.enrichment import Enrichment, enrichment
from ucad.gene_sets.files import GeneSet, read_gene_sets

__all__ = ["Enrichment", "GeneSet", "enrichment", "read_gene_sets"]
