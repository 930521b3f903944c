// The part of WebAssembly's interface that the kernel needs. Node's types lack it, and the browser library would add the whole browser.
declare namespace WebAssembly {
  /** Compiled code. An interface, because the types of the build tools declare the same one. */
  interface Module {
    readonly [Symbol.toStringTag]: string
  }
  class Memory {
    constructor(descriptor: { readonly initial: number; readonly maximum: number; readonly shared: true })
    /** A new object after growth, over the same bytes. */
    readonly buffer: SharedArrayBuffer
    grow(pages: number): number
  }
  interface Global {
    readonly value: unknown
  }
  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>)
    readonly exports: object
  }
  /** Thrown when the code traps. */
  class RuntimeError extends Error {}
  function validate(bytes: Uint8Array): boolean
  function compile(bytes: Uint8Array): Promise<Module>
}
