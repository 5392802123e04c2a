/* Ways into the kernel that are open, by number; 0 is where the program runs. */
#ifndef VISITS_H
#define VISITS_H
#include "plugin.h"

void *zeroed(size_t count, size_t size);        /* ends the program where there is no memory */

uint32_t open_visit(uint32_t name, bool is_nested);     /* 0 where too many are open */
void close_visit(uint32_t at);
void count_visit(uint32_t at, uint32_t name, int by);
uint32_t visit_name(uint32_t at);
uint64_t rename_visit(uint32_t at, uint32_t name);     /* to what is no fault; those of its entry's own until now */
uint32_t visit_entry(uint32_t at);      /* the name that it was opened with */
bool is_nested(uint32_t at);
/* A page fault of which it is not known yet whether the instruction before it was carried out. */
bool may_repeat(uint32_t at);
void set_may_repeat(uint32_t at);
/* Of all visits, each its own; and a line of code that it had not fetched before. */
uint64_t visit_number(uint32_t at);
void count_line(uint32_t at);
uint64_t visits_lost(void);
void clear_visits(void);
void write_visits(FILE *out);
#endif
