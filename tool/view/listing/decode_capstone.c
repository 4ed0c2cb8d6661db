/* SPDX-License-Identifier: MIT */
/*
 * decode_capstone.c - decodes with capstone; a module.
 *
 * Capstone 4 lacks instructions of newer processors. It does not guess unknown ones,
 * with two known exceptions: it decodes tpause as mfence and rdpid as rdseed.
 */
#include "base/module_interface.h"
#include "view/listing/decode_sync.h"

#include <stdio.h>
#include <string.h>

#include <capstone/capstone.h>
#include <elf.h>

struct mode {
    cs_arch arch;
    cs_mode mode;
    size_t step; /* number of unknown bytes to skip at once */
};

/* Get how capstone decodes code of this kind. Returns false if it cannot. */
static bool
find_mode(const struct sym_code *kind, struct mode *mode)
{
    const cs_mode order = kind->big_endian ? CS_MODE_BIG_ENDIAN : CS_MODE_LITTLE_ENDIAN;

    switch (kind->machine) {
    case EM_X86_64:
        *mode = (struct mode){CS_ARCH_X86, CS_MODE_64, 1};
        return true;
    case EM_386:
        *mode = (struct mode){CS_ARCH_X86, CS_MODE_32, 1};
        return true;
    case EM_AARCH64:
        *mode = (struct mode){CS_ARCH_ARM64, order, 4};
        return true;
    case EM_PPC64:
        *mode = (struct mode){CS_ARCH_PPC, (cs_mode)(CS_MODE_64 | order), 4};
        return true;
    case EM_S390:
        *mode = (struct mode){CS_ARCH_SYSZ, CS_MODE_BIG_ENDIAN, 2};
        return true;
    default:
        return false;
    }
}

/* Return whether capstone decoded rdpid as rdseed, or tpause as mfence. These two use
 * encodings that rdseed and mfence leave free: a register as operand after the prefix
 * f3, and the prefix 66. */
static bool
is_misread(const cs_insn *insn)
{
    const size_t skipped = insn->bytes[0] == 0xf3 || insn->bytes[0] == 0x66 ? 1 : 0;
    const unsigned char *bytes = insn->bytes + skipped;

    if (skipped == 0 || insn->size < 4) {
        return false;
    }
    bytes += (bytes[0] & 0xf0) == 0x40 ? 1 : 0; /* skip a REX prefix */
    return bytes[0] == 0x0f && ((insn->bytes[0] == 0xf3 && bytes[1] == 0xc7 &&
                                 strncmp(insn->mnemonic, "rdseed", 6) == 0) ||
                                (bytes[1] == 0xae && bytes[2] >= 0xf0));
}

/* Decode all bytes; what capstone does not know is skipped by mode->step bytes. Returns
 * false if take did. */
static bool
decode_all(csh handle, cs_insn *insn, const struct mode *mode, struct decode_sync *sync)
{
    char text[sizeof(insn->mnemonic) + sizeof(insn->op_str) + 1];

    while (sync->at < sync->code->size) {
        const uint8_t *bytes = sync->code->bytes + sync->at;
        size_t size = sync->code->size - sync->at;
        uint64_t address = sync->code->address + sync->at;
        const bool known =
            cs_disasm_iter(handle, &bytes, &size, &address, insn) && !is_misread(insn);

        if (known) {
            snprintf(text, sizeof(text), "%s%s%s", insn->mnemonic,
                     insn->op_str[0] != '\0' ? " " : "", insn->op_str);
        }
        if (!decode_sync_step(sync, known ? insn->size : mode->step,
                              known ? text : NULL)) {
            return false;
        }
    }
    return decode_sync_end(sync);
}

static bool
decode_capstone(const struct decode_code *code, decode_take *take, void *context,
                char *why, size_t why_size)
{
    struct decode_sync sync = {.code = code, .take = take, .context = context};
    struct mode mode;
    cs_insn *insn;
    csh handle;
    bool done;

    why[0] = '\0';
    if (!find_mode(&code->kind, &mode) ||
        cs_open(mode.arch, mode.mode, &handle) != CS_ERR_OK) {
        snprintf(why, why_size,
                 "the disassembler does not know machine %u; try --objdump",
                 code->kind.machine);
        return false;
    }
    if (mode.arch == CS_ARCH_X86 && !code->intel) {
        (void)cs_option(handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
    }
    insn = cs_malloc(handle);
    if (insn == NULL) {
        snprintf(why, why_size, "memory is short");
    }
    done = insn != NULL && decode_all(handle, insn, &mode, &sync);
    if (insn != NULL) {
        cs_free(insn, 1);
    }
    cs_close(&handle);
    return done;
}

MODULE_INTERFACE(struct capstone_module, capstone) = {.decode = decode_capstone};
