/** Where the arguments of a tool that calls other tools name them. */
export interface InnerDocument {
  /** JSON Pointer to a list with an object for each call; default: the arguments describe one call. */
  readonly each?: string;
  /** JSON Pointer to the name of the tool, within such an object. */
  readonly name: string;
  /** JSON Pointer to its arguments. Default: the gateway knows none. */
  readonly arguments?: string;
}

declare module '../../core/policy/document.ts' {
  interface EntryDocument {
    /** Of a tool. */
    readonly inner?: InnerDocument;
  }
}
