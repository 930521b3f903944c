// Objects that every node of a cluster can read: images of restores and clones, backups, and snapshots. They are in a bucket, or in a
// JetStream stream. An object never changes: its key has its SHA-256, or a name that is never used again.

/** A store that the nodes of a cluster share. Every method rejects with StoreUnavailable if the store cannot be used at the moment. */
export interface SharedStore {
  /** Its name in messages. */
  readonly at: string
  /** The largest object, in bytes. */
  readonly objectBytesMax: number
  /** Rejects with `shared_store_full` if so many further bytes exceed the limit of the store. */
  checkRoom(bytes: number): Promise<void>
  /** Stores an object unless it exists. */
  put(key: string, bytes: Uint8Array): Promise<'stored' | 'exists'>
  get(key: string): Promise<Uint8Array | undefined>
  has(key: string): Promise<boolean>
  /** The keys that begin with a folder such as `images/`, in order. A bucket may lack what is new, so only removals use it. */
  list(folder: string): Promise<string[]>
  delete(keys: readonly string[]): Promise<void>
  close(): void
}
