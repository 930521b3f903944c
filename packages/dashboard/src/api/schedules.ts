// What is backed up by itself.
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
  /** Of collections without a schedule of their own. */
  readonly server: Every | null
}

const at = (collection: string) => `/api/v2/collection/${segment(collection)}/schedule`

export const listSchedules = (options?: CallOptions) => call<SchedulesReply>('GET', '/api/v2/schedules', options)
export const putSchedule = (collection: string, every: Every) => call<Schedule>('PUT', at(collection), { body: every })
export const deleteSchedule = (collection: string) => call<object>('DELETE', at(collection))
