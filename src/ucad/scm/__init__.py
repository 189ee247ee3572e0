"""What the graph means: interventions, mechanisms, factor SCMs and the abstraction."""
