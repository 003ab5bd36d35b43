// Makes whatever listens in this Node process listen on the loopback address only: the public MCP
// servers know no such setting. Used as node --require loopback.cjs.
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  return typeof port === 'object' ? listen.call(this, port, ...rest) : listen.call(this, Number(port), '127.0.0.1', ...rest.filter((x) => typeof x === 'function'));
};
