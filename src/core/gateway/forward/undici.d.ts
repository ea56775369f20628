/** The parts of undici that are used. The whole package takes four times as long to load. */
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici';
}
declare module 'undici/lib/core/errors.js' {
  import { errors } from 'undici';
  export = errors;
}
declare module 'undici/lib/core/connect.js' {
  export { buildConnector as default } from 'undici';
}
