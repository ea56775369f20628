/**
 * Node's HTTP module. An `import` of `node:http` would evaluate every export. The getters of `WebSocket` and its like
 * load Node's built-in `fetch`, which takes longer than all modules of the gateway and which the gateway does not use.
 */
export const http = process.getBuiltinModule('node:http');
