export { type Clock, systemClock } from './clock.ts'
export { type DataDirectory, type DataDirectoryOptions, followsName, openDataDirectory } from './data-directory.ts'
export { errnoOf, isDiskFull, WalError, type WalErrorCode, type WalErrorDetails } from './errors.ts'
export { freeBuffer } from './free-buffer.ts'
export {
  copyHistory,
  durableLsnOf,
  type HistoryPlace,
  type HistoryRange,
  historySegments,
  readHistory,
} from './history.ts'
export { createIdentity, type Identity, newTimeline, openIdentity, readIdentity } from './identity.ts'
export { payloadBytesMax } from './limits.ts'
export { acquireLock, type DirectoryLock, type LockHolder, type LockOptions, lockHolder } from './lock.ts'
export type { Appended, FsyncPolicy, Log, LogRecord, LogState, Lsn, NewRecord } from './log.ts'
export {
  type LogPiece,
  type LogPosition,
  type PieceLimits,
  positionAfter,
  positionBefore,
  readPiece,
} from './log-pieces.ts'
export { nodeVfs, openFilesLimit, processFiles } from './node-vfs.ts'
export type { LogNotice } from './notice.ts'
export { type FileLogOptions, openFileLog } from './open-file-log.ts'
export { OpenFiles } from './open-files.ts'
export { runEach } from './run-each.ts'
export type { ScanProgress } from './scan-log.ts'
export type { SegmentFile } from './scan-segment.ts'
export { segmentName } from './segment-header.ts'
export { runWalTool, type ToolOutput } from './tools/command.ts'
export { type DumpLine, type DumpOptions, dumpLog } from './tools/dump.ts'
export { type ReadFilesOptions, readLogFiles } from './tools/read.ts'
export { type RepairOptions, type RepairReport, repairLog } from './tools/repair.ts'
export { type LogFinding, type LogReport, type VerifyOptions, verifyLog } from './tools/verify.ts'
export { copyFile, linkOrCopy, sizeOf } from './transfer.ts'
export type { OpenMode, Vfs, VfsFile } from './vfs.ts'
export { createWhole, makeDurableDirectory, makeNamedDirectory, readFully, writeFully } from './whole-file.ts'
export { collectInSlices, IdlePace, runInTurns, runToEnd, SteadyPace, TimeSlice, yieldToOthers } from './yield.ts'
