// The disk interface of the log and the snapshots. Every durable byte of wal and engine goes through it, so tests can
// lose unsynced bytes, tear writes and inject failures. Only node-vfs.ts uses node:fs.

/** An open file. Positions are explicit. */
export interface VfsFile {
  /** Writes at `position` and returns the number of bytes written. A full disk may write fewer bytes than given. */
  write(bytes: Uint8Array, position: number): Promise<number>
  /** Reads into `bytes` from `position` and returns the number of bytes read; 0 at the end. */
  read(bytes: Uint8Array, position: number): Promise<number>
  /**
   * Like `read`, but reads in the calling thread, which waits for the disk. Returns undefined where that is not possible at the moment: call
   * `read` then. Absent where it is never possible.
   */
  readNow?(bytes: Uint8Array, position: number): number | undefined
  /** Makes the file's data durable. A failure is final for this file: do not retry it. */
  datasync(): Promise<void>
  /** Changes the size of the file, in bytes. Bytes that it adds are 0. */
  truncate(size: number): Promise<void>
  /** Returns the size of the file in bytes. */
  size(): Promise<number>
  /** Closes the file. Idempotent. */
  close(): Promise<void>
}

/** `create` fails when the file exists; `write` opens an existing file for reading and writing; `read` only for reading. */
export type OpenMode = 'read' | 'write' | 'create'

/** The disk, as the log and the snapshots use it. Paths are absolute or relative to the process. */
export interface Vfs {
  /** Opens a file. Rejects with the error of the system, such as ENOENT or EEXIST. */
  open(path: string, mode: OpenMode): Promise<VfsFile>
  /** Renames a file or a directory, and replaces a file with the new name. The name is durable after `syncDirectory`. */
  rename(from: string, to: string): Promise<void>
  /** Removes a file. Rejects with ENOENT if there is none. */
  remove(path: string): Promise<void>
  /** Removes a directory with everything in it. */
  removeTree(path: string): Promise<void>
  /** Makes a hard link. Rejects with EEXIST if the new name exists. */
  link(existing: string, path: string): Promise<void>
  /** Makes a directory and those above it. An existing one is left. */
  makeDirectory(path: string): Promise<void>
  /** Lists the names in a directory, in no order. */
  list(path: string): Promise<string[]>
  /** Rejects if the system cannot say, because of an error of the disk or a missing permission. */
  exists(path: string): Promise<boolean>
  /**
   * Makes the names in a directory durable. Required after every create, rename and remove that correctness depends on.
   */
  syncDirectory(path: string): Promise<void>
  /** Bytes that an unprivileged process can still write on the file system of `path`. */
  freeBytes(path: string): Promise<number>
}
