// Stands for packages that the tests do not use: telemetry, and the client of a database.
module.exports = {};
