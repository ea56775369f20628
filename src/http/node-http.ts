/**
 * Node's HTTP. An `import` of `node:http` gets it too, and with it every export's value: the getters of `WebSocket` and
 * its like load the `fetch` that is built into Node, which takes longer than all of ours and which nothing here uses.
 */
export const http = process.getBuiltinModule('node:http');
