declare module 'virtual:sample' {
  import type { SampleDocument } from '../build/sample.ts'
  export const documents: readonly SampleDocument[]
}
