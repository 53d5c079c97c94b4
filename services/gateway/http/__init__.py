"""The aiohttp application and its server: routes, middlewares, bodies, errors. It knows no endpoint."""
