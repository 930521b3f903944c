// What the log has to tell, in sentences for operators.
import type { LogNotice } from '@annal/wal'

export function sentenceOf(notice: LogNotice): string {
  switch (notice.kind) {
    case 'tail-cut':
      return `${notice.bytes} bytes that were never acknowledged were cut off the end of the log, whose last record is ${notice.lsnLast}`
    case 'tip-damaged':
      return `${notice.slots} of 2 slots of wal/TIP are damaged; the other means were used to find the end of the log`
    case 'slow-sync':
      return `the disk took ${Math.round(notice.tookMs)} ms to make writes durable`
    case 'read-only':
      return `no more writes are taken: ${notice.reason}`
    case 'writable':
      return 'writes are taken again'
  }
}
