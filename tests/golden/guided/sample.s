# SPDX-License-Identifier: MIT
# Made by clang-16 of sample.c, which says how; the .addrsig lines are taken out.
	.text
	.file	"sample.c"
	.globl	settle                          # -- Begin function settle
	.p2align	4, 0x90
	.type	settle,@function
settle:                                 # @settle
.Lfunc_begin0:
	.file	0 "." "sample.c" md5 0x1a437abc7424338f0f04e7cbdc58bfa2
	.loc	0 30 0                          # sample.c:30:0
	.cfi_startproc
# %bb.0:
                                        # kill: def $edi killed $edi def $rdi
	.loc	0 31 14 prologue_end            # sample.c:31:14
	testl	%edi, %edi
	.loc	0 31 12 is_stmt 0               # sample.c:31:12
	js	.LBB0_1
# %bb.2:
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	.loc	0 31 40 discriminator 4         # sample.c:31:40
	leal	1(%rdi), %eax
.Ltmp0:
	.loc	0 13 15 is_stmt 1               # sample.c:13:15
	imull	$-1431655765, %eax, %ecx        # imm = 0xAAAAAAAB
	.loc	0 13 9 is_stmt 0                # sample.c:13:9
	leal	(%rax,%rax,4), %ebx
                                        # kill: def $eax killed $eax killed $rax
	xorl	$85, %eax
	.loc	0 13 15                         # sample.c:13:15
	cmpl	$1431655766, %ecx               # imm = 0x55555556
	.loc	0 13 9                          # sample.c:13:9
	cmovael	%eax, %ebx
.Ltmp1:
                                        # kill: def $edi killed $edi killed $rdi
	.loc	0 31 47 is_stmt 1 discriminator 8 # sample.c:31:47
	callq	churn
.Ltmp2:
	.loc	0 31 45 is_stmt 0 discriminator 4 # sample.c:31:45
	subl	%eax, %ebx
	movl	%ebx, %edi
	popq	%rbx
	.cfi_def_cfa_offset 8
	.cfi_restore %rbx
	.loc	0 31 5 discriminator 6          # sample.c:31:5
	movl	%edi, %eax
	retq
.LBB0_1:
.Ltmp3:
	.loc	0 13 11 is_stmt 1               # sample.c:13:11
	movl	%edi, %eax
	negl	%eax
	.loc	0 13 15 is_stmt 0               # sample.c:13:15
	imull	$-1431655765, %eax, %eax        # imm = 0xAAAAAAAB
	.loc	0 13 9                          # sample.c:13:9
	leal	(%rdi,%rdi,4), %ecx
	negl	%ecx
	xorl	$-86, %edi
	incl	%edi
	.loc	0 13 15                         # sample.c:13:15
	cmpl	$1431655766, %eax               # imm = 0x55555556
	.loc	0 13 9                          # sample.c:13:9
	cmovbl	%ecx, %edi
.Ltmp4:
	.loc	0 31 5 is_stmt 1 discriminator 6 # sample.c:31:5
	movl	%edi, %eax
	retq
.Ltmp5:
.Lfunc_end0:
	.size	settle, .Lfunc_end0-settle
	.cfi_endproc
                                        # -- End function
	.p2align	4, 0x90                         # -- Begin function churn
	.type	churn,@function
churn:                                  # @churn
.Lfunc_begin1:
	.loc	0 21 0                          # sample.c:21:0
	.cfi_startproc
# %bb.0:
	.loc	0 24 23 prologue_end discriminator 2 # sample.c:24:23
	testl	%edi, %edi
	.loc	0 24 5 is_stmt 0 discriminator 2 # sample.c:24:5
	jle	.LBB1_1
# %bb.3:
	.loc	0 0 5                           # sample.c:0:5
	xorl	%ecx, %ecx
	movl	$2863311531, %edx               # imm = 0xAAAAAAAB
	xorl	%esi, %esi
	xorl	%eax, %eax
	jmp	.LBB1_4
	.p2align	4, 0x90
.LBB1_8:                                #   in Loop: Header=BB1_4 Depth=1
	.loc	0 24 51 discriminator 10        # sample.c:24:51
	addl	%r8d, %eax
	.loc	0 24 39 discriminator 10        # sample.c:24:39
	addl	%r9d, %eax
	.loc	0 24 29 discriminator 12        # sample.c:24:29
	incl	%esi
	.loc	0 24 23 discriminator 2         # sample.c:24:23
	addl	$5, %ecx
	cmpl	%esi, %edi
	.loc	0 24 5 discriminator 2          # sample.c:24:5
	je	.LBB1_2
.LBB1_4:                                # =>This Inner Loop Header: Depth=1
.Ltmp6:
	.loc	0 13 11 is_stmt 1               # sample.c:13:11
	movl	%esi, %r8d
	imulq	%rdx, %r8
	shrq	$33, %r8
	leal	(%r8,%r8,2), %r9d
	movl	%ecx, %r8d
	.loc	0 13 15 is_stmt 0               # sample.c:13:15
	cmpl	%esi, %r9d
	.loc	0 13 9                          # sample.c:13:9
	je	.LBB1_6
.Ltmp7:
# %bb.5:                                #   in Loop: Header=BB1_4 Depth=1
	.loc	0 0 9                           # sample.c:0:9
	movl	%esi, %r8d
	xorl	$85, %r8d
.LBB1_6:                                #   in Loop: Header=BB1_4 Depth=1
	movl	$2, %r9d
	.loc	0 24 56 is_stmt 1 discriminator 4 # sample.c:24:56
	testb	$1, %sil
	.loc	0 24 54 is_stmt 0 discriminator 4 # sample.c:24:54
	je	.LBB1_8
# %bb.7:                                #   in Loop: Header=BB1_4 Depth=1
	.loc	0 24 62 discriminator 6         # sample.c:24:62
	movl	sink(%rip), %r9d
	jmp	.LBB1_8
.LBB1_1:
	.loc	0 0 62                          # sample.c:0:62
	xorl	%eax, %eax
.LBB1_2:
	.loc	0 25 5 is_stmt 1                # sample.c:25:5
	retq
.Ltmp8:
.Lfunc_end1:
	.size	churn, .Lfunc_end1-churn
	.cfi_endproc
                                        # -- End function
	.globl	main                            # -- Begin function main
	.p2align	4, 0x90
	.type	main,@function
main:                                   # @main
.Lfunc_begin2:
	.loc	0 36 0                          # sample.c:36:0
	.cfi_startproc
# %bb.0:
	pushq	%r14
	.cfi_def_cfa_offset 16
	pushq	%rbx
	.cfi_def_cfa_offset 24
	pushq	%rax
	.cfi_def_cfa_offset 32
	.cfi_offset %rbx, -24
	.cfi_offset %r14, -16
	imull	$1000, %edi, %ebx               # imm = 0x3E8
	xorl	%r14d, %r14d
	.p2align	4, 0x90
.LBB2_1:                                # =>This Inner Loop Header: Depth=1
.Ltmp9:
	.loc	0 39 16 prologue_end            # sample.c:39:16
	leal	(%rbx,%r14), %edi
	callq	settle
.Ltmp10:
	.loc	0 39 14 is_stmt 0               # sample.c:39:14
	movl	%eax, sink(%rip)
	.loc	0 38 32 is_stmt 1 discriminator 4 # sample.c:38:32
	incl	%r14d
	.loc	0 38 23 is_stmt 0 discriminator 2 # sample.c:38:23
	cmpl	$1000, %r14d                    # imm = 0x3E8
	.loc	0 38 5 discriminator 2          # sample.c:38:5
	jne	.LBB2_1
# %bb.2:
	.loc	0 41 5 is_stmt 1                # sample.c:41:5
	xorl	%eax, %eax
	.loc	0 41 5 epilogue_begin is_stmt 0 # sample.c:41:5
	addq	$8, %rsp
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%r14
	.cfi_def_cfa_offset 8
	retq
.Ltmp11:
.Lfunc_end2:
	.size	main, .Lfunc_end2-main
	.cfi_endproc
                                        # -- End function
	.type	sink,@object                    # @sink
	.bss
	.globl	sink
	.p2align	2, 0x0
sink:
	.long	0                               # 0x0
	.size	sink, 4

	.section	.debug_abbrev,"",@progbits
	.byte	1                               # Abbreviation Code
	.byte	17                              # DW_TAG_compile_unit
	.byte	1                               # DW_CHILDREN_yes
	.byte	37                              # DW_AT_producer
	.byte	37                              # DW_FORM_strx1
	.byte	19                              # DW_AT_language
	.byte	5                               # DW_FORM_data2
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	114                             # DW_AT_str_offsets_base
	.byte	23                              # DW_FORM_sec_offset
	.byte	16                              # DW_AT_stmt_list
	.byte	23                              # DW_FORM_sec_offset
	.byte	27                              # DW_AT_comp_dir
	.byte	37                              # DW_FORM_strx1
	.byte	17                              # DW_AT_low_pc
	.byte	27                              # DW_FORM_addrx
	.byte	18                              # DW_AT_high_pc
	.byte	6                               # DW_FORM_data4
	.byte	115                             # DW_AT_addr_base
	.byte	23                              # DW_FORM_sec_offset
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	2                               # Abbreviation Code
	.byte	46                              # DW_TAG_subprogram
	.byte	0                               # DW_CHILDREN_no
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	58                              # DW_AT_decl_file
	.byte	11                              # DW_FORM_data1
	.byte	59                              # DW_AT_decl_line
	.byte	11                              # DW_FORM_data1
	.byte	32                              # DW_AT_inline
	.byte	33                              # DW_FORM_implicit_const
	.byte	1
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	3                               # Abbreviation Code
	.byte	46                              # DW_TAG_subprogram
	.byte	1                               # DW_CHILDREN_yes
	.byte	17                              # DW_AT_low_pc
	.byte	27                              # DW_FORM_addrx
	.byte	18                              # DW_AT_high_pc
	.byte	6                               # DW_FORM_data4
	.byte	122                             # DW_AT_call_all_calls
	.byte	25                              # DW_FORM_flag_present
	.byte	3                               # DW_AT_name
	.byte	37                              # DW_FORM_strx1
	.byte	58                              # DW_AT_decl_file
	.byte	11                              # DW_FORM_data1
	.byte	59                              # DW_AT_decl_line
	.byte	11                              # DW_FORM_data1
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	4                               # Abbreviation Code
	.byte	29                              # DW_TAG_inlined_subroutine
	.byte	0                               # DW_CHILDREN_no
	.byte	49                              # DW_AT_abstract_origin
	.byte	19                              # DW_FORM_ref4
	.byte	17                              # DW_AT_low_pc
	.byte	27                              # DW_FORM_addrx
	.byte	18                              # DW_AT_high_pc
	.byte	6                               # DW_FORM_data4
	.byte	88                              # DW_AT_call_file
	.byte	11                              # DW_FORM_data1
	.byte	89                              # DW_AT_call_line
	.byte	11                              # DW_FORM_data1
	.byte	87                              # DW_AT_call_column
	.byte	11                              # DW_FORM_data1
	.ascii	"\266B"                         # DW_AT_GNU_discriminator
	.byte	11                              # DW_FORM_data1
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	5                               # Abbreviation Code
	.byte	72                              # DW_TAG_call_site
	.byte	0                               # DW_CHILDREN_no
	.byte	127                             # DW_AT_call_origin
	.byte	19                              # DW_FORM_ref4
	.byte	125                             # DW_AT_call_return_pc
	.byte	27                              # DW_FORM_addrx
	.byte	0                               # EOM(1)
	.byte	0                               # EOM(2)
	.byte	0                               # EOM(3)
	.section	.debug_info,"",@progbits
.Lcu_begin0:
	.long	.Ldebug_info_end0-.Ldebug_info_start0 # Length of Unit
.Ldebug_info_start0:
	.short	5                               # DWARF version number
	.byte	1                               # DWARF Unit Type
	.byte	8                               # Address Size (in bytes)
	.long	.debug_abbrev                   # Offset Into Abbrev. Section
	.byte	1                               # Abbrev [1] 0xc:0x70 DW_TAG_compile_unit
	.byte	0                               # DW_AT_producer
	.short	29                              # DW_AT_language
	.byte	1                               # DW_AT_name
	.long	.Lstr_offsets_base0             # DW_AT_str_offsets_base
	.long	.Lline_table_start0             # DW_AT_stmt_list
	.byte	2                               # DW_AT_comp_dir
	.byte	0                               # DW_AT_low_pc
	.long	.Lfunc_end2-.Lfunc_begin0       # DW_AT_high_pc
	.long	.Laddr_table_base0              # DW_AT_addr_base
	.byte	2                               # Abbrev [2] 0x23:0x4 DW_TAG_subprogram
	.byte	3                               # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	11                              # DW_AT_decl_line
                                        # DW_AT_inline
	.byte	3                               # Abbrev [3] 0x27:0x2c DW_TAG_subprogram
	.byte	0                               # DW_AT_low_pc
	.long	.Lfunc_end0-.Lfunc_begin0       # DW_AT_high_pc
                                        # DW_AT_call_all_calls
	.byte	4                               # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	29                              # DW_AT_decl_line
	.byte	4                               # Abbrev [4] 0x30:0xe DW_TAG_inlined_subroutine
	.long	35                              # DW_AT_abstract_origin
	.byte	1                               # DW_AT_low_pc
	.long	.Ltmp1-.Ltmp0                   # DW_AT_high_pc
	.byte	0                               # DW_AT_call_file
	.byte	31                              # DW_AT_call_line
	.byte	32                              # DW_AT_call_column
	.byte	4                               # DW_AT_GNU_discriminator
	.byte	4                               # Abbrev [4] 0x3e:0xe DW_TAG_inlined_subroutine
	.long	35                              # DW_AT_abstract_origin
	.byte	2                               # DW_AT_low_pc
	.long	.Ltmp4-.Ltmp3                   # DW_AT_high_pc
	.byte	0                               # DW_AT_call_file
	.byte	31                              # DW_AT_call_line
	.byte	21                              # DW_AT_call_column
	.byte	2                               # DW_AT_GNU_discriminator
	.byte	5                               # Abbrev [5] 0x4c:0x6 DW_TAG_call_site
	.long	83                              # DW_AT_call_origin
	.byte	3                               # DW_AT_call_return_pc
	.byte	0                               # End Of Children Mark
	.byte	3                               # Abbrev [3] 0x53:0x18 DW_TAG_subprogram
	.byte	4                               # DW_AT_low_pc
	.long	.Lfunc_end1-.Lfunc_begin1       # DW_AT_high_pc
                                        # DW_AT_call_all_calls
	.byte	5                               # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	20                              # DW_AT_decl_line
	.byte	4                               # Abbrev [4] 0x5c:0xe DW_TAG_inlined_subroutine
	.long	35                              # DW_AT_abstract_origin
	.byte	5                               # DW_AT_low_pc
	.long	.Ltmp7-.Ltmp6                   # DW_AT_high_pc
	.byte	0                               # DW_AT_call_file
	.byte	24                              # DW_AT_call_line
	.byte	42                              # DW_AT_call_column
	.byte	4                               # DW_AT_GNU_discriminator
	.byte	0                               # End Of Children Mark
	.byte	3                               # Abbrev [3] 0x6b:0x10 DW_TAG_subprogram
	.byte	6                               # DW_AT_low_pc
	.long	.Lfunc_end2-.Lfunc_begin2       # DW_AT_high_pc
                                        # DW_AT_call_all_calls
	.byte	6                               # DW_AT_name
	.byte	0                               # DW_AT_decl_file
	.byte	35                              # DW_AT_decl_line
	.byte	5                               # Abbrev [5] 0x74:0x6 DW_TAG_call_site
	.long	39                              # DW_AT_call_origin
	.byte	7                               # DW_AT_call_return_pc
	.byte	0                               # End Of Children Mark
	.byte	0                               # End Of Children Mark
.Ldebug_info_end0:
	.section	.debug_str_offsets,"",@progbits
	.long	32                              # Length of String Offsets Set
	.short	5
	.short	0
.Lstr_offsets_base0:
	.section	.debug_str,"MS",@progbits,1
.Linfo_string0:
	.byte	0                               # string offset=0
.Linfo_string1:
	.asciz	"sample.c"                      # string offset=1
.Linfo_string2:
	.asciz	"."                             # string offset=10
.Linfo_string3:
	.asciz	"weigh"                         # string offset=12
.Linfo_string4:
	.asciz	"settle"                        # string offset=18
.Linfo_string5:
	.asciz	"churn"                         # string offset=25
.Linfo_string6:
	.asciz	"main"                          # string offset=31
	.section	.debug_str_offsets,"",@progbits
	.long	.Linfo_string0
	.long	.Linfo_string1
	.long	.Linfo_string2
	.long	.Linfo_string3
	.long	.Linfo_string4
	.long	.Linfo_string5
	.long	.Linfo_string6
	.section	.debug_addr,"",@progbits
	.long	.Ldebug_addr_end0-.Ldebug_addr_start0 # Length of contribution
.Ldebug_addr_start0:
	.short	5                               # DWARF version number
	.byte	8                               # Address size
	.byte	0                               # Segment selector size
.Laddr_table_base0:
	.quad	.Lfunc_begin0
	.quad	.Ltmp0
	.quad	.Ltmp3
	.quad	.Ltmp2
	.quad	.Lfunc_begin1
	.quad	.Ltmp6
	.quad	.Lfunc_begin2
	.quad	.Ltmp10
.Ldebug_addr_end0:
	.section	".note.GNU-stack","",@progbits
	.section	.debug_line,"",@progbits
.Lline_table_start0:
