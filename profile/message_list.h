/* Point-to-point functions that have counts, for each_count.h. messages.c defines the macros. */
SEND(Send)
SEND(Bsend)
SEND(Ssend)
SEND(Rsend)
ISEND(Isend)
ISEND(Ibsend)
ISEND(Issend)
ISEND(Irsend)
SEND_INIT(Send_init)
SEND_INIT(Bsend_init)
SEND_INIT(Ssend_init)
SEND_INIT(Rsend_init)

PROF_BOTH_FORM(Recv, false, (RECV_PARAMS, MPI_Status *status), (SEND_ARGS, status), (SEND_ARGS, use),
               OWN_STATUS, note_recv(&call, code, MESSAGE, use))
PROF_SIMPLE_FORM(Irecv, (RECV_PARAMS, MPI_Request *request), (SEND_ARGS, request),
                 note_irecv(&call, code, MESSAGE, request))
PROF_BOTH_FORM(Recv_init, true, (RECV_PARAMS, MPI_Request *request), (SEND_ARGS, request),
               (SEND_ARGS, request), (void)0, note_init(&call, code, MESSAGE, true, request))

PROF_BOTH_FORM(Sendrecv, false, (SENDRECV_PARAMS, MPI_Status *status), (SENDRECV_ARGS, status),
               (SENDRECV_ARGS, use), OWN_STATUS,
               note_sendrecv(&call, code, BOTH_OF(in, in_count, in_type), use))
PROF_BOTH_FORM(Sendrecv_replace, false, (REPLACE_PARAMS, MPI_Status *status), (REPLACE_ARGS, status),
               (REPLACE_ARGS, use), OWN_STATUS, note_sendrecv(&call, code, BOTH_OF(buffer, count, type), use))
#if PRELOAD_HAS_MPI4
PROF_SIMPLE_FORM(Isendrecv, (SENDRECV_PARAMS, MPI_Request *request), (SENDRECV_ARGS, request),
                 note_isendrecv(&call, code, BOTH_OF(in, in_count, in_type), request))
PROF_SIMPLE_FORM(Isendrecv_replace, (REPLACE_PARAMS, MPI_Request *request), (REPLACE_ARGS, request),
                 note_isendrecv(&call, code, BOTH_OF(buffer, count, type), request))
#endif

PROF_BOTH_FORM(Mrecv, true,
               (void *buffer, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
               (buffer, count, type, message, status), (buffer, count, type, message, status),
               MPI_Message saved = *message, note_mrecv(&call, code, buffer, count, type, saved))
PROF_BOTH_FORM(Imrecv, true,
               (void *buffer, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
               (buffer, count, type, message, request), (buffer, count, type, message, request),
               MPI_Message saved = *message, note_mrecv(&call, code, buffer, count, type, saved))
