// One of two results that are shown side by side.
import type { SearchReply } from '../../api/search.ts'

export interface Side {
  readonly reply: SearchReply
  /** As measured by the browser, including the network. */
  readonly ms: number
}
