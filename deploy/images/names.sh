#!/bin/bash
# The images that build.sh makes; sourced. The two MOBILETEST_ names are what the tests and the Compose file read.
export BASE_IMAGE=mobiletest/base:bookworm
export APP_IMAGE=mobiletest:dev
export MOBILETEST_MONGO_IMAGE=mobiletest/mongo:6.0.5
KAFKA_VERSION=4.1.1
# testcontainers wants a tag of 7.0 or more, Confluent's numbers: 8.1 is their name for Kafka 4.1.
export MOBILETEST_KAFKA_IMAGE=mobiletest/kafka:8.1.1
export KAFKA_VERSION
