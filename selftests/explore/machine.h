/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine that runs a few threads over a small shared memory, one step at a time. The
 * search (search.h) decides every step.
 *
 * A thread is a C function. What it does between two steps depends only on the results
 * of its steps so far. So a thread is stored as the log of these results, and its next
 * step is found by running the function again from its beginning over the log. Only the
 * log and the memory have to be saved and restored.
 *
 * Memory models:
 *
 *   MC_SC    Sequential consistency: a load returns the newest value.
 *   MC_WEAK  Every word has the history of its values. Every thread and every value has
 *            a view: for each word the oldest value that may still be read. A load
 *            returns any value that is not older than the thread's view; an acquire
 *            load joins the view of the value. A release store or read-modify-write
 *            stores the thread's view with the value. Read-modify-writes return and
 *            replace the newest value; a failing compare-and-swap is a relaxed load.
 *            The ordered load returns any value that was the newest one at a moment not
 *            before the thread's latest read-modify-write took effect, nor before the
 *            values existed that the thread has loaded with acquire (for kind elastic:
 *            those that read-modify-writes wrote, which allows more). After Kang et
 *            al., "A promising semantics for relaxed-memory concurrency", POPL 2017,
 *            without promises; the ordered load as in epf/shim.h.
 *
 * In BPF scenes (scene.h) loads are those of BPF on arm64: none acquires. A lane whose
 * address depends on the epoch is loaded after the epoch. The ordered load comes after
 * one more atomic: it returns no value older than the newest one at the moment at which
 * any value was written that the thread has loaded (epf_bpf_fence() in epf/shim.h).
 * Without that atomic, MC_RLX_ORDERED, it is a plain load, which may overtake the write of
 * the read-modify-write before it, as any load may in MC_WEAK.
 *
 * MC_WEAK shows store buffering and the reordering of loads with loads, and of loads with
 * earlier stores. It does not show stores performed before earlier loads (load buffering),
 * nor relaxed stores to different words that overtake one another: every store of the core
 * is a release store or a read-modify-write, so only variants could differ. A
 * read-modify-write orders like one of C11 (acquire and release). That is less than the
 * full barrier of the kernel's: later relaxed loads may return old values. If the core has
 * a separate fence for that, it is MC_FENCE: after it a thread knows what all threads knew
 * that fenced before it.
 */
#ifndef EPF_EXPLORE_MACHINE_H
#define EPF_EXPLORE_MACHINE_H

#include "shim.h"

#define MC_THREADS 5
#define MC_WORDS 32  /* shared words that are written, in one scene */
#define MC_VALUES 48 /* values of one word, in one execution */
#define MC_LOG 1200  /* steps of one thread */
#define MC_KEYS 8
#define MC_TABLES 2
#define MC_DONE 12 /* operations of all threads */
#define MC_EPOCHS 64

enum mc_model { MC_SC, MC_WEAK };

/* What variants disable in lanes: the protections of the protocol, ... */
#define MC_NO_CAS (1u << 0)        /* a stale lane is replaced by a store */
#define MC_NO_ATOMIC_OR (1u << 1)  /* bits are set by load, OR, store */
#define MC_NO_REREAD (1u << 2)     /* O2: the second load of the epoch */
#define MC_NO_GRACE (1u << 3)      /* O3: rotation does not wait */
#define MC_OR_SEES_SELF (1u << 4)  /* the OR returns the new word */
#define MC_OR_SEES_NONE (1u << 5)  /* the OR returns 0 */
#define MC_SCAN_ALL (1u << 6)      /* the scan empties current lanes, too */
#define MC_SCAN_STORE (1u << 7)    /* the scan stores zero */
#define MC_SCAN_UNLOCKED (1u << 8) /* the scan does not exclude rotation */
#define MC_TAG_1 (1u << 9)         /* a tag of 1 bit */
#define MC_COUNT_ON (1u << 10)     /* the count is not reset between epochs */
#define MC_LATE_FLUSH (1u << 11)   /* a late addition counts in the epoch it arrives in */
#define MC_LATE_PENDING (1u << 12) /* a CPU keeps its insertions for later */
#define MC_COUNT_STORE (1u << 13)  /* counts are added without CAS */
#define MC_FREE_NOW (1u << 14)     /* a replaced table is freed at once */
/* ... and its orderings, each made relaxed. */
#define MC_RLX_ORDERED (1u << 15) /* O2: the ordered load */
#define MC_RLX_OR (1u << 16)      /* the OR of epf_lane_set */
#define MC_RLX_CAS (1u << 17)     /* the CAS of epf_lane_set and epf_lane_take */
#define MC_RLX_LANE (1u << 18)    /* O1: their acquire load */
#define MC_RLX_HOLDS (1u << 19)   /* the acquire load of epf_probe_holds */
#define MC_RLX_BEGIN (1u << 20)   /* the acquire load of the epoch */
#define MC_RLX_EPOCH (1u << 21)   /* the rotator's store of the epoch */
#define MC_RLX_COUNT (1u << 22)   /* the rotator's store of the count */
#define MC_RLX_ADD (1u << 23)     /* the CAS of epf_count_add */
#define MC_RLX_SCAN (1u << 24)    /* the CAS of the scan */
#define MC_RLX_TABLE (1u << 25)   /* publication of a new table */
/* The same for the lines of kind elastic, besides MC_NO_REREAD, MC_RLX_ORDERED,
 * MC_RLX_BEGIN and MC_RLX_EPOCH.
 */
#define MC_LOCK_STORE (1ULL << 26)  /* the lock is taken by a store */
#define MC_NO_UNLOCK (1ULL << 27)   /* and not released */
#define MC_OLD_STAMP (1ULL << 28)   /* a change leaves the stamp */
#define MC_EARLY_PHASE (1ULL << 29) /* an insert reads the phase, then locks */
#define MC_SWEEP_LOOSE (1ULL << 30) /* the sweep takes no lock */
#define MC_TEST_BLIND (1ULL << 31)  /* a test does not see the lock */
#define MC_TEST_ONCE (1ULL << 32)   /* a test looks at the head once */
#define MC_TEST_LONG (1ULL << 33)   /* a test does not see that epochs ended */
#define MC_RLX_LOCK (1ULL << 34)    /* the locking CAS */
#define MC_RLX_UNLOCK (1ULL << 35)  /* the unlocking CAS */
#define MC_RLX_WRITES (1ULL << 36)  /* the stores of a line's words */
#define MC_RLX_HEAD (1ULL << 37)    /* a test's load of the head */
#define MC_RLX_WORDS (1ULL << 38)   /* the loads of a line's words */
/* The same for the ring of a journal. */
#define MC_SLOT_BLIND (1ULL << 39)  /* a writer takes the slot without a check */
#define MC_SLOT_STORE (1ULL << 40)  /* it checks, and takes it by a store */
#define MC_SLOT_QUIET (1ULL << 41)  /* a record that is lost is not counted */
#define MC_SLOT_ONCE (1ULL << 42)   /* the reader looks at seq once */
#define MC_RLX_NEXT (1ULL << 43)    /* the addition that reserves */
#define MC_RLX_CLAIM (1ULL << 44)   /* the CAS that takes a slot */
#define MC_RLX_REC (1ULL << 45)     /* the stores of a record's words */
#define MC_RLX_SEQ (1ULL << 46)     /* the store of seq */
#define MC_RLX_GET (1ULL << 47)     /* the loads of a record's words */
#define MC_RLX_GET_SEQ (1ULL << 48) /* the first load of seq */
#define MC_RLX_LOST (1ULL << 49)    /* the addition of what is lost */
/* The same for a mirror, for the end of its journal, ... */
#define MC_MIRROR_LATE (1ULL << 50)  /* positions are noted after the copy */
#define MC_MIRROR_ONE (1ULL << 51)   /* a record changes the lane of its epoch only */
#define MC_ROTATE_QUIET (1ULL << 52) /* rotations have no record */
#define MC_JOURNAL_NOW (1ULL << 53)  /* no grace period before the copy */
#define MC_SWAP_LATE (1ULL << 54)    /* over after the filter has another table */
#define MC_END_LATE (1ULL << 55)     /* over after insertions find no journal */
#define MC_RLX_END (1ULL << 56)      /* the store that takes the journal away */
#define MC_SWAP_LOOSE (1ULL << 62)   /* a journal may begin before the swap */
/* ... and of the worker's estimate. */
#define MC_ESTIMATE_KEEP (1ULL << 57)   /* also kept for lanes whose epoch began meanwhile */
#define MC_ESTIMATE_LATE (1ULL << 58)   /* the epoch is loaded after the sample */
#define MC_ESTIMATE_LOOSE (1ULL << 59)  /* it is stored without the lock */
#define MC_ESTIMATE_OFF (1ULL << 60)    /* also dropped for the current epoch */
#define MC_ESTIMATE_ROTATE (1ULL << 61) /* a rotation does not reset it */
/* Those of the start of an epoch and of epf_state_since() share bits with the estimate and a
 * mirror: no scene has both.
 */
#define MC_SINCE_EARLY MC_ESTIMATE_KEEP  /* it is asked before the answer */
#define MC_RLX_LATER MC_ESTIMATE_LATE    /* its load of the epoch */
#define MC_START_LATE MC_ESTIMATE_LOOSE  /* the start is stored after the epoch */
#define MC_DATE_EARLY MC_ESTIMATE_OFF    /* the clock is read before the epoch is stored */
#define MC_DATE_LOOSE MC_ESTIMATE_ROTATE /* no full barrier before it is read */
#define MC_BEGAN_LATE MC_MIRROR_LATE     /* other contents are visible before @began is never */
/* For the sections of a filter that a timer rotates, variants are MC_NO_GRACE, MC_RLX_LOCK
 * (no fence when one begins), MC_RLX_UNLOCK (a relaxed subtraction when it ends) and
 * MC_RLX_HEAD (no fence before the timer checks them).
 */
/* Not a protection: loop bounds that are smaller by one. */
#define MC_TIGHT (1ULL << 63)

enum mc_kind {
	MC_LOAD,
	MC_ACQUIRE,
	MC_ORDERED,
	MC_STORE,
	MC_OR,
	MC_ADD,
	MC_CAS,
	MC_ENTER,
	MC_LEAVE, /* a section of the grace period */
	MC_GRACE_START,
	MC_GRACE_POLL,
	MC_GRACE_WAIT,
	MC_LOCK,
	MC_TRYLOCK,
	MC_UNLOCK,
	MC_AWAIT, /* the end of other threads */
	MC_FENCE, /* a full barrier */
	MC_NOTE,  /* for the properties; not a step */
	MC_FREE,
};

/* What a thread reports for the check of properties. */
enum mc_note {
	MC_STARTS,   /* an operation on a key */
	MC_INSERTED, /* epoch */
	MC_SIGHTED,  /* verdict, epoch */
	MC_TESTED,   /* verdict */
	MC_ENDS,     /* the epoch, which counted enough insertions */
	MC_MIRRORED, /* mirror.c */
	MC_ESTIMATED,
	MC_EMPTIED, /* worker.c */
	MC_DATED,
	MC_SINCE, /* since.c */
};

/**
 * struct mc_op - the next step of a thread
 * @kind: kind of step
 * @word: offset in struct mc_world, in words; or of a word elsewhere
 * @value: value to be written; for MC_NOTE enum mc_note
 * @old: value that a CAS expects; for MC_NOTE the epoch
 * @order: it acquires, releases and performs as its name says
 * @awaited: for MC_OR without @order: an ordered load comes after it nevertheless
 * @without: a load waits for a value that has none of these bits
 * @depends: its address depends on the epoch that was loaded last
 * @later: it is performed after every earlier load
 * @key: for MC_NOTE
 * @table: for MC_NOTE
 * @verdict: for MC_NOTE
 * @where: function of the core
 */
struct mc_op {
	enum mc_kind kind;
	long word;
	__u64 value;
	__u64 old;
	bool order;
	bool awaited;
	__u64 without;
	bool depends;
	bool later;
	int key;
	int table;
	int verdict;
	const char *where;
};

/* The memory: tables of lanes, a line of kind elastic, or a journal. Accesses to words that
 * only one thread needs are no steps.
 */
struct mc_table {
	struct epf_state state;
	struct epf_line line[EPF_PARTS_MAX];
};

struct mc_elastic {
	struct epf_elastic f;
	__u64 line[EPF_ELASTIC_WORDS_MAX];
};

struct mc_journal {
	struct epf_journal_shard shard;
	struct epf_journal_record record[2];
	__u64 line;
	__u64 kept; /* insertions find it */
	__u64 over; /* the flag that its reader sees */
};

struct mc_world {
	union {
		struct mc_table table[MC_TABLES];
		struct mc_elastic elastic;
	};
	__u64 handle[MC_TABLES];  /* the table of each filter */
	__u64 pending;            /* count of the one CPU that threads share */
	__u64 inside[MC_THREADS]; /* sections of each thread, if a timer rotates */
	__u64 clock;
	__u64 began[MC_TABLES]; /* @began of epf_state_since() */
	struct mc_journal journal;
};
#define MC_WORLD_WORDS ((int)(sizeof(struct mc_world) / sizeof(__u64)))

struct mc_answer {
	__u64 value;
	bool good;
};

/**
 * struct mc_know - a view
 * @at: for each shared word the index of the oldest value that may be read
 * @epoch: the same for ordered loads of the epochs
 */
struct mc_know {
	__u8 at[MC_WORDS];
	__u8 epoch[MC_TABLES];
};

/**
 * struct mc_value - one value in the history of a word
 * @value: the value
 * @know: view that an acquire load of it joins
 */
struct mc_value {
	__u64 value;
	struct mc_know know;
};

/**
 * struct mc_thread - one thread
 * @know: its view
 * @section: number of the section that it is in, or 0
 * @sections: number of sections that it has entered
 * @log: length of its log
 * @hash: hash of everything that its function depends on from here
 * @over: its function has returned
 * @op: its next step
 * @dated: in BPF, and by epf_state_since(): the view of the epoch that it loaded last
 * @loaded: joined views of the values that it loaded, if it calls epf_state_since()
 */
struct mc_thread {
	struct mc_know know;
	__u8 section;
	__u8 sections;
	int log;
	__u64 hash;
	bool over;
	struct mc_op op;
	struct mc_know dated, loaded;
};

/**
 * struct mc_sync - synchronization that the owner of a filter provides
 * @started: view at the start of the latest grace period
 * @left: joined views of all threads that left a section
 * @fenced: joined views of all threads that fenced
 * @unlocked: view of the last holder of the lock
 * @holder: holder of the lock, from 1
 * @freed: freed tables, as bits
 * @waits: section of each thread to wait for, by grace period
 */
struct mc_sync {
	struct mc_know started, left, unlocked, fenced;
	__u8 holder;
	__u8 freed;
	__u8 waits[EPF_LANES][MC_THREADS];
};

/**
 * struct mc_done - an operation that is over
 * @epoch: epoch that has the key, or 0
 * @start: index of the epoch that was known at its start
 * @began: the clock at its start
 */
struct mc_done {
	__u8 key, table, thread, sight, verdict, epoch, start, began;
};

/**
 * struct mc_ghost - state for the check of properties
 * @live: epochs in which a key was in all its lanes while they were current
 * @inserts: operations that are over, by the epoch that has the key
 * @start: as in struct mc_done, for each thread's latest operation
 * @began: likewise
 * @active: number of operations under way, by key
 * @estimate: set bits stored for each lane
 * @dated: the latest epoch that has its start
 * @nr_done: number of operations in @done
 * @done: operations in the order of their ends
 */
struct mc_ghost {
	__u64 live[MC_TABLES][MC_KEYS];
	__u8 inserts[MC_EPOCHS];
	__u8 start[MC_THREADS];
	__u8 began[MC_THREADS];
	__u8 active[MC_KEYS];
	__u8 estimate[EPF_LANES];
	__u8 dated;
	__u8 nr_done;
	struct mc_done done[MC_DONE];
};

struct mc_scene;

/* There is one machine: the search is not parallel. */
struct mc_machine {
	enum mc_model model;
	__u64 out;                    /* MC_NO_* and so on */
	const struct mc_scene *scene; /* set before anything else */
	const char *broke;            /* the property that was violated */
	unsigned int awaited;         /* threads whose end others await */
	bool reshape;                 /* a word became shared: start over */
	int nr_words;
	int word_id[MC_WORLD_WORDS]; /* -1: not shared */
	int word_at[MC_WORDS];
	__u8 users[MC_WORLD_WORDS]; /* threads that accessed a word */
	bool written[MC_WORLD_WORDS];
	struct mc_world first; /* the memory at the beginning */
	__u8 nr_values[MC_WORDS];
	struct mc_value value[MC_WORDS][MC_VALUES];
	__u64 hash; /* of the memory */
	struct mc_thread thread[MC_THREADS];
	struct mc_sync sync;
	struct mc_ghost ghost;
};

/**
 * struct mc_noted - what the shim remembers of the operation under way
 * @begun: epoch, or phase, that it loaded
 * @scanned: word that the scan loaded last
 * @late: start of an epoch that is not stored yet
 * @head: for a line, the head that a test loaded first in a try; for a slot, its seq
 * @sure: the test was not disturbed
 */
struct mc_noted {
	__u64 begun, scanned, late, head, sure;
};

extern struct mc_machine mc;
extern struct mc_world mc_world; /* where the core's pointers point */
extern struct mc_noted mc_noted;

/* A choice is the index of the value that is returned, or */
#define MC_SUCCESS 255 /* of a CAS, and of a step without a choice */

/* What a step may change, so that it can be undone. */
struct mc_saved {
	struct mc_thread thread;
	struct mc_sync sync;
	struct mc_ghost ghost;
	__u64 hash;
	__u8 nr_values;
};

void mc_begin(void);
bool mc_enabled(int t);
int mc_choices(int t, __u8 choice[MC_VALUES + 1]);
void mc_save(int t, struct mc_saved *s);
struct mc_answer mc_step(int t, __u8 choice);
void mc_undo(int t, const struct mc_saved *s);
bool mc_goes_on(int t, enum mc_kind done);
__u64 mc_fingerprint(void);
__u64 mc_mix(__u64 x);
long mc_word(const void *p);
__u64 mc_newest(const __u64 *p);
__u64 *mc_epoch_word(int table);
int mc_epoch_of(long word);
bool mc_is_count(long word);
bool mc_in_ring(long word);
int mc_epoch_index(int table);
__u64 mc_epoch_value(int table, int index);

/* For the core's primitives, shim.c. */
int mc_running(void);
struct mc_answer mc_access(const struct mc_op *op);

/* For the programs of the threads. */
__u64 mc_do(enum mc_kind kind, __u64 value);
void mc_note(enum mc_note note, int key, int table, int verdict, __u64 e);

#endif /* EPF_EXPLORE_MACHINE_H */
