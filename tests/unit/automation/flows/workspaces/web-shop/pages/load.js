// The page objects.
output.pages = {
  list: { firstMug: '.product:first-child a' },
}
