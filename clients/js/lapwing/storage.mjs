// Where a device keeps its memory: records by key, changed in transactions.
//
// A storage has one method, `change(update)`. It calls `update` with a Map of all records, none of
// which may be changed in place, then stores the list `put` of what update returns, durably and all
// at once, and returns `result`. No other change comes between reading and storing, even
// from another page or worker of the origin. If update throws, nothing is stored.

import { LapwingError } from "./errors.mjs";

/**
 * IndexedDB, of the page's origin. It is the only storage of browsers with transactions that hold
 * across pages, and this is what keeps two open tabs from answering twice. There is deliberately no
 * fallback to localStorage: where IndexedDB is refused, a device cannot remember, and must not
 * answer.
 */
export class BrowserStorage {
  #name;
  #opened = null;

  constructor(name = "lapwing") {
    this.#name = name;
  }

  #open() {
    if (!globalThis.indexedDB) {
      throw new LapwingError(
        "there is no IndexedDB here to keep the memory of a device. Give the Device a `storage`, " +
          "an object with the method `change`",
      );
    }
    this.#opened ??= new Promise((resolve, reject) => {
      const asked = globalThis.indexedDB.open(this.#name, 1);
      asked.onupgradeneeded = () => asked.result.createObjectStore("records", { keyPath: "key" });
      asked.onerror = () => reject(asked.error);
      asked.onsuccess = () => {
        const database = asked.result;
        const forget = () => (this.#opened = null);
        database.onclose = forget;
        database.onversionchange = () => {
          database.close();
          forget();
        };
        resolve(database);
      };
    }).catch((error) => {
      this.#opened = null;
      throw new LapwingError("this browser stores nothing for the page, so it must not answer", {
        cause: error,
      });
    });
    return this.#opened;
  }

  async change(update) {
    const database = await this.#open();
    return new Promise((resolve, reject) => {
      const transaction = database.transaction("records", "readwrite", { durability: "strict" });
      const records = transaction.objectStore("records");
      const asked = records.getAll();
      let made;
      let error;
      asked.onsuccess = () => {
        try {
          made = update(new Map(asked.result.map((record) => [record.key, record])));
          for (const record of made.put ?? []) records.put(record);
        } catch (caught) {
          error = caught;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(made.result);
      transaction.onabort = () => reject(error ?? transaction.error);
    });
  }
}

/** Memory that ends with the program: for tests, and for simulations of many devices. */
export class MemoryStorage {
  #records = new Map();

  async change(update) {
    const { put = [], result } = update(new Map(this.#records));
    for (const record of put) this.#records.set(record.key, structuredClone(record));
    return result;
  }
}
