// The history of a database: the events of its log and their numbers by time.
import type { Activity, ActivityRequest, EventPage, EventsRequest } from './history-info.ts'
import type { ReadOptions, Transport } from './transport.ts'

/** The history of the database of the client's token, as far back as the log and its archive reach. */
export class History {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Pages through the events. Waits until the server has read its log.
   *
   * @example
   * ```ts
   * const { events, previous } = await client.history.events({ collection: 'films', limit: 20 })
   * for (const { lsn, time, type } of events) console.log(lsn, time, type)
   * ```
   */
  async events(request: EventsRequest = {}, options?: ReadOptions): Promise<EventPage> {
    for (;;) {
      const page = await this.#transport.call('events', request, options)
      if (page.complete) return page
    }
  }

  /**
   * Numbers of events and objects by time. Waits until the server has read its log.
   *
   * @example
   * ```ts
   * const { buckets } = await client.history.activity({ from: new Date(Date.now() - 86_400_000) })
   * for (const { time, written, deleted } of buckets) console.log(time, written, deleted)
   * ```
   */
  async activity(request: ActivityRequest = {}, options?: ReadOptions): Promise<Activity> {
    for (;;) {
      const activity = await this.#transport.call('activity', request, options)
      if (activity.complete) return activity
    }
  }
}
