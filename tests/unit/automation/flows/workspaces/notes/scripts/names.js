// Names for the tests of one run.
output.names = { note: 'Note of ' + (AUTHOR || 'nobody') }
