"""What every answer over HTTP is made with: the site, forms, problems, operations, bounds."""
