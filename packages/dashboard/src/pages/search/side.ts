// One of two results that are shown side by side.
import type { SearchBody, SearchReply } from '../../api/search.ts'

export interface Side {
  readonly reply: SearchReply
  /** The search that it answers. */
  readonly body: SearchBody
  /** As measured by the browser, including the network. */
  readonly ms: number
}
