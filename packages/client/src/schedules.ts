// The backup schedules of a database.
import type { Schedule, ScheduleList, ScheduleOptions } from './schedule-info.ts'
import type { CallOptions, Transport, WriteOptions } from './transport.ts'

/** Backups that the server makes at intervals. An embedded engine has no schedules. */
export class Schedules {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Lists the schedules.
   *
   * @example
   * ```ts
   * for (const { collection, everyHours, nextAt } of (await client.schedules.list()).schedules)
   *   console.log(collection, everyHours, nextAt)
   * ```
   */
  list(options?: CallOptions): Promise<ScheduleList> {
    return this.#transport.call('listSchedules', undefined, options)
  }

  /**
   * Sets the schedule of a collection. Its first backup starts within two minutes.
   *
   * @example
   * ```ts
   * await client.schedules.put('films', { everyHours: 24, keep: 30 })
   * ```
   */
  put(collection: string, schedule: ScheduleOptions, options?: WriteOptions): Promise<Schedule> {
    return this.#transport.call('putSchedule', { collection, schedule }, options)
  }

  /**
   * Deletes the schedule of a collection. Its backups are kept. Resolves to false if there was no schedule.
   *
   * @example
   * ```ts
   * await client.schedules.delete('films')
   * ```
   */
  delete(collection: string, options?: WriteOptions): Promise<boolean> {
    return this.#transport.call('deleteSchedule', { collection }, options)
  }
}
