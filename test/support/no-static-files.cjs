// In place of @fastify/static, which Mercurius requires for its GraphiQL page: it requires
// an ES module, and Jest can do that from Node 24.9 on only. No test asks for the page.
module.exports = () => {
  throw new Error('No test serves static files.');
};
