"""Parts of every HTTP answer: the site, forms, problems, API operations, limits."""
