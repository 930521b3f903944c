declare module 'virtual:cures' {
  /** Cause and fix by error code. */
  export const cures: { readonly [code: string]: { readonly cause: string; readonly cure: string } }
}
