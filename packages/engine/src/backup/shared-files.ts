// What an engine needs of a store that all nodes of a cluster share: images that records name, and backups. The server implements it.

/** A file of a folder, and how many of its bytes belong to it. */
export interface FolderFile {
  readonly name: string
  readonly bytes: number
}

/** A backup that every node knows. */
export interface SharedBackup {
  /** Name of its folder: 32 hexadecimal digits. */
  readonly id: string
  readonly databaseId: number
  readonly name: string
  /** The text of its manifest. */
  readonly manifest: string
}

/** The backups of a cluster. */
export interface SharedBackups {
  /** Those that exist, as of the last time that the index was read. */
  readonly known: readonly SharedBackup[]
  /** Stores the files of a backup, then lists it. Rejects with `backup_exists` if another node lists one with this name; then nothing is kept. */
  add(backup: SharedBackup, dir: string, files: readonly FolderFile[]): Promise<void>
  /** Downloads the files of a backup into an empty directory. */
  get(backup: SharedBackup, dir: string): Promise<void>
  /** Removes a backup from the list, then its files. */
  remove(backup: SharedBackup): Promise<void>
}

/** A checkpoint of an engine on the log. */
export interface SharedCheckpoint {
  /** Everything up to this record is in it. */
  readonly lsn: number
  readonly name: string
  /** Where the store has it. */
  readonly folder: string
}

/** Files that the nodes of a cluster share. */
export interface SharedFiles {
  /** Stores an image. Rejects if it may not be stored; then no record may name it. */
  putImage(id: string, dir: string, files: readonly FolderFile[]): Promise<void>
  /** Downloads an image into an empty directory. */
  getImage(id: string, dir: string): Promise<void>
  /** Lists the images in the store. */
  imageIds(): Promise<readonly string[]>
  /** Removes an image. An unknown id changes nothing. */
  removeImage(id: string): Promise<void>
  readonly backups: SharedBackups
  /** Checkpoints that a restore to a moment can begin with, oldest first. */
  checkpoints(): Promise<readonly SharedCheckpoint[]>
  /** Downloads some files of a checkpoint into a directory. */
  getCheckpoint(checkpoint: SharedCheckpoint, dir: string, isWanted: (name: string) => boolean): Promise<void>
  /**
   * Repeats an attempt until it succeeds. Until then, the node states that it waits for `what`, and answers no reads. Rejects with `closed` when the node
   * closes.
   */
  patiently(what: string, attempt: () => Promise<void>): Promise<void>
}
