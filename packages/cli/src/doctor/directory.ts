// The data directory: its permissions, its lock, its identity and its log. Reads only.
import { constants } from 'node:fs'
import { access, readdir, stat, statfs } from 'node:fs/promises'
import path from 'node:path'
import { checkCheckpoints } from '@annal/engine'
import { type LogReport, lockHolder, nodeVfs, readIdentity, verifyLog, WalError } from '@annal/wal'
import { bytesText, countText } from '../amounts.ts'
import type { Terminal } from '../terminal.ts'
import { attention, bad, type Finding, good } from './finding.ts'

const diskBytesLow = 1_000_000_000
const sharesLow = 0.05

export async function directoryFindings(dir: string, terminal: Terminal): Promise<Finding[]> {
  const where = path.resolve(dir)
  const found = await permissionFinding(where)
  if (found.state === 'bad' || !(await exists(where))) return [found, await diskFinding(await existingParent(where))]
  const identity = await identityFinding(where)
  const isNew = identity.what.startsWith('nothing')
  return [
    found,
    await diskFinding(where),
    await lockFinding(where),
    identity,
    ...(isNew ? [] : await storedFindings(where, terminal)),
  ]
}

async function permissionFinding(dir: string): Promise<Finding> {
  if (!(await exists(dir))) {
    const parent = await existingParent(dir)
    if (await mayUse(parent)) return good('directory', `${dir} does not exist yet; the server creates it`)
    return bad(
      'directory',
      `${dir} cannot be created: this user may not write to ${parent}`,
      `chown ${parent}, or set NDD_DATA_DIR`,
    )
  }
  if (!(await stat(dir)).isDirectory())
    return bad('directory', `${dir} is not a directory`, 'set NDD_DATA_DIR to a directory')
  const uid = process.getuid?.()
  if (!(await mayUse(dir))) {
    const cure = uid === undefined ? 'give this user write permission' : `chown -R ${uid} ${dir}`
    return bad('directory', `this user may not write to ${dir}`, cure)
  }
  const foreign = await foreignEntry(dir, uid)
  if (foreign === undefined) return good('directory', dir)
  return attention('directory', `${foreign} belongs to another user`, `chown -R ${uid} ${dir}, with the server stopped`)
}

/** An entry owned by another user, which happens when a server once ran as root. */
async function foreignEntry(dir: string, uid: number | undefined): Promise<string | undefined> {
  if (uid === undefined || uid === 0) return undefined
  for (const name of await readdir(dir)) {
    const entry = path.join(dir, name)
    if ((await stat(entry)).uid !== uid) return entry
  }
  return undefined
}

async function diskFinding(dir: string): Promise<Finding> {
  const { bavail, blocks, bsize } = await statfs(dir)
  const free = bavail * bsize
  const figures = `${bytesText(free)} free of ${bytesText(blocks * bsize)}`
  if (free >= diskBytesLow && free >= blocks * bsize * sharesLow) return good('disk', figures)
  if (free >= diskBytesLow)
    return attention('disk', `only ${figures}`, 'free disk space: a full disk makes the server read-only')
  return bad('disk', `only ${figures}`, 'free disk space: the server rejects writes before the disk is full')
}

async function lockFinding(dir: string): Promise<Finding> {
  const holder = await lockHolder(dir)
  if (holder === undefined) return good('lock', 'no process has the directory open')
  const who = `process ${holder.pid} on ${holder.host}`
  if (holder.isGone)
    return good('lock', `${who} ended without closing; the next start takes over the lock and recovers`)
  return good('lock', `${who} has the directory open; tools that write must wait until it ends`)
}

async function identityFinding(dir: string): Promise<Finding> {
  try {
    const identity = await readIdentity({ dir, vfs: nodeVfs() })
    if (identity !== undefined) {
      return good('identity', `${identity.uuid}, format ${identity.formatVersion}, created ${identity.createdAt}`)
    }
    if (!(await exists(path.join(dir, 'wal')))) return good('identity', 'nothing is stored here yet')
    return bad('identity', 'there is a log but no IDENTITY', 'restore the file from a copy of the directory')
  } catch (error) {
    if (!(error instanceof WalError)) throw error
    return bad('identity', error.message, 'see docs/reference/errors.md')
  }
}

async function storedFindings(dir: string, terminal: Terminal): Promise<Finding[]> {
  const onProgress = ({ bytes }: { readonly bytes: number }) => terminal.bar.show('reading the log', bytes, undefined)
  const identity = await readIdentity({ dir, vfs: nodeVfs() }).catch(() => undefined)
  const report = await verifyLog({ vfs: nodeVfs(), dir: path.join(dir, 'wal'), identity, onProgress })
  const log = logFinding(dir, report)
  // A damaged IDENTITY is reported separately, and there is nothing to compare with.
  if (identity === undefined) return [log]
  return [log, ...(await checkpointFindings(dir, identity.uuid, report.isGood && report.lsnFirst === 1))]
}

function logFinding(dir: string, report: LogReport): Finding {
  if (report.segments === 0)
    return bad(
      'log',
      `${dir}/wal has no segment, but IDENTITY records a log`,
      'restore wal/ from a copy of the directory, or restore a backup',
    )
  const figures = `${countText(report.frames, 'record')} in ${countText(report.segments, 'segment')}, up to LSN ${report.lsnLast}`
  const damage = report.findings.filter(({ severity }) => severity === 'damage')
  const [first] = damage
  if (first !== undefined) {
    const what = `${countText(damage.length, 'damaged place')} in ${figures}; the first: ${first.file} at offset ${first.offset}: ${first.what}`
    return bad(
      'log',
      what,
      `keep a copy of ${dir}; restore a backup, or as a last resort run annal repair --truncate-at ${first.lsn}`,
    )
  }
  const [notice] = report.findings
  if (notice === undefined) return good('log', figures)
  return good('log', `${figures}; ${notice.file}: ${notice.what}; the next start repairs it`)
}

/** Checks the length and the header of every file of every checkpoint; `annal verify --deep` checks all bytes. */
async function checkpointFindings(dir: string, directory: string, isLogWhole: boolean): Promise<Finding[]> {
  const { faults, whole, newestLsn } = await checkCheckpoints({
    vfs: nodeVfs(),
    dataDir: dir,
    directory,
    isDeep: false,
    isLogWhole,
  })
  const [newest] = whole
  const mayStart = newest !== undefined || isLogWhole
  const damage = faults.map(({ file, what, cure }) =>
    (mayStart ? attention : bad)('checkpoint', `${file}: ${what}`, cure),
  )
  if (damage.length > 0) return damage
  if (newest === undefined) return [good('checkpoint', 'none yet; a start reads the whole log')]
  return [good('checkpoint', `the newest checkpoint is at LSN ${newestLsn}; a start reads the log from there`)]
}

async function mayUse(dir: string): Promise<boolean> {
  return access(dir, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

async function existingParent(dir: string): Promise<string> {
  const parent = path.dirname(dir)
  return parent === dir || (await exists(parent)) ? parent : existingParent(parent)
}
