// How a version of the wire reads a body that is a list. http/list-body.ts reads bodies with it.
import type { ListShape } from './json-items.ts'
import type { MsgpackListShape } from './msgpack-items.ts'

/** How a route reads its list. If the body has no list, `noList` throws or returns the only entry. */
export interface ListReader<T> {
  readonly json: {
    readonly shape: ListShape
    whole(body: unknown): readonly T[]
    item(value: unknown, path: string): T
    noList(body: unknown): readonly T[]
  }
  readonly msgpack: {
    readonly shape: MsgpackListShape
    whole(bytes: Buffer): readonly T[]
    /** Reads one entry, which is valid until the next one is read. Yields between parts, so that other work can run. */
    item(bytes: Buffer, path: string): Generator<void, T>
    noList(first: Buffer): readonly T[]
  }
  /** Called after the last entry of a large body with the number of entries. Throws if the list must not be empty. */
  end(count: number): void
  /** Called with a JSON body before its list is used up. A large one has its list no more. */
  rest?(body: unknown): void
}
