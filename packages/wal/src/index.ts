export type { Appended, FsyncPolicy, Log, LogRecord, LogState, Lsn, NewRecord } from './log.ts'
export type { OpenMode, Vfs, VfsFile } from './vfs.ts'
