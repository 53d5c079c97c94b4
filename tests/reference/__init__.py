"""The examples of the API documentation: a story that the service is asked to play, recorded."""
