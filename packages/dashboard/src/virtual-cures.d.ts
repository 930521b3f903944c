declare module 'virtual:cures' {
  /** By error code: why it happens and what to do. */
  export const cures: { readonly [code: string]: { readonly cause: string; readonly cure: string } }
}
