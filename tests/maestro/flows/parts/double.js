output.doubled = NUMBER * 2;
