"""The catalog's domain: values and rules, standard library only, one module per resource."""
