"""What every process of mobiletest stands on; knows no service and none of their protos."""
