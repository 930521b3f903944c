// The disk as the log and the snapshots see it. Every durable byte of wal and engine goes through this seam, which is
// what lets a test lose un-synced bytes, tear writes and fail on demand. Only node-vfs.ts knows node:fs.

export interface VfsFile {
  /** Writes at `position` and returns how many bytes were taken, which may be fewer than given: a full disk looks like that. */
  write(bytes: Uint8Array, position: number): Promise<number>
  /** Reads into `bytes` from `position` and returns how many bytes were read; 0 at the end. */
  read(bytes: Uint8Array, position: number): Promise<number>
  /** Makes the file's data durable. A failure is final for this file: never retry it. */
  datasync(): Promise<void>
  truncate(size: number): Promise<void>
  size(): Promise<number>
  close(): Promise<void>
}

/** `create` fails when the file exists; `write` opens an existing file for reading and writing; `read` only for reading. */
export type OpenMode = 'read' | 'write' | 'create'

export interface Vfs {
  open(path: string, mode: OpenMode): Promise<VfsFile>
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  /** Removes a directory with everything in it. */
  removeTree(path: string): Promise<void>
  link(existing: string, path: string): Promise<void>
  makeDirectory(path: string): Promise<void>
  list(path: string): Promise<string[]>
  exists(path: string): Promise<boolean>
  /** Makes the names in a directory durable: after every create, rename and remove that correctness depends on. */
  syncDirectory(path: string): Promise<void>
  /** Bytes a process without privileges can still write on the file system that holds `path`. */
  freeBytes(path: string): Promise<number>
}
