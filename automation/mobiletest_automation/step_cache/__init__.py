"""What carried out a sentence, stored between runs where that saves a call of a model."""
