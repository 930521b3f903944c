// Schedules of automatic backups.
import { type CallOptions, call, segment } from './request.ts'

export interface Every {
  readonly every_hours: number
  readonly keep: number
  readonly check: boolean
}

export interface Schedule extends Every {
  readonly collection: string
  readonly last_at: string | null
  readonly next_at: string | null
}

export interface SchedulesReply {
  readonly schedules: readonly Schedule[]
  /** The default for collections without a schedule of their own. */
  readonly server: Every | null
}

const pathOf = (collection: string) => `/api/v2/collection/${segment(collection)}/schedule`

export const listSchedules = (options?: CallOptions) => call<SchedulesReply>('GET', '/api/v2/schedules', options)
export const putSchedule = (collection: string, every: Every) =>
  call<Schedule>('PUT', pathOf(collection), { body: every })
export const deleteSchedule = (collection: string) => call<object>('DELETE', pathOf(collection))
