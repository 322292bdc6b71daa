! Collectives by mpif.h, by the module mpi and by mpi_f08: which of them a library under the program takes, its report tells.
! For test_dropin.sh.
subroutine by_header(rank, size, wrong)
    implicit none
    include 'mpif.h'
    integer, intent(in) :: rank, size
    integer, intent(inout) :: wrong
    real :: all(100)
    integer :: ierr
    all = real(rank)
    call MPI_ALLREDUCE(MPI_IN_PLACE, all, 100, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (any(all /= real(size*(size - 1)/2))) wrong = wrong + 1
    all = real(rank)
    call MPI_BCAST(all, 100, MPI_REAL, size - 1, MPI_COMM_WORLD, ierr)
    if (any(all /= real(size - 1))) wrong = wrong + 1
end subroutine

! Process i has 10 + i elements, and there is a gap behind them. One with these counts is taken from its second call on.
subroutine blocks_by_header(rank, size, wrong)
    implicit none
    include 'mpif.h'
    integer, intent(in) :: rank, size
    integer, intent(inout) :: wrong
    real :: mine(10 + rank), all(12 + size, 0:size - 1)
    integer :: counts(0:size - 1), places(0:size - 1), ierr, turn, i
    do i = 0, size - 1
        counts(i) = 10 + i
        places(i) = i*(12 + size)
    end do
    do turn = 1, 3
        mine = real(100*turn + rank)
        all = -1
        call MPI_ALLGATHERV(mine, 10 + rank, MPI_REAL, all, counts, places, MPI_REAL, MPI_COMM_WORLD, ierr)
        do i = 0, size - 1
            if (any(all(1:10 + i, i) /= real(100*turn + i))) wrong = wrong + 1
            if (any(all(11 + i:, i) /= -1)) wrong = wrong + 1
        end do
    end do
end subroutine

subroutine blocks_by_module(rank, size, wrong)
    use mpi_f08
    implicit none
    integer, intent(in) :: rank, size
    integer, intent(inout) :: wrong
    double precision :: all(12 + size, 0:size - 1)
    integer :: counts(0:size - 1), places(0:size - 1), turn, i
    counts = [(10 + i, i=0, size - 1)]
    places = [(i*(12 + size), i=0, size - 1)]
    do turn = 1, 2
        all = -1
        all(1:10 + rank, rank) = 100*turn + rank
        call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_DOUBLE_PRECISION, &
                            MPI_COMM_WORLD)
        do i = 0, size - 1
            if (any(all(1:10 + i, i) /= 100*turn + i)) wrong = wrong + 1
            if (any(all(11 + i:, i) /= -1)) wrong = wrong + 1
        end do
    end do
end subroutine

subroutine by_module(rank, size, wrong)
    use mpi_f08
    implicit none
    integer, intent(in) :: rank, size
    integer, intent(inout) :: wrong
    double precision :: mine(50), all(50)
    integer :: each(50*size)
    mine = rank
    call MPI_Allreduce(mine, all, 50, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    if (any(all /= size - 1)) wrong = wrong + 1
    each = 0
    each(50*rank + 1:50*rank + 50) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, each, 50, MPI_INTEGER, MPI_COMM_WORLD)
    if (any(each(50*size - 49:) /= size - 1)) wrong = wrong + 1
end subroutine

subroutine by_old_module(rank, size, wrong)
    use mpi
    implicit none
    integer, intent(in) :: rank, size
    integer, intent(inout) :: wrong
    integer :: mine(70), all(70), ierr
    mine = rank + 1
    call MPI_ALLREDUCE(mine, all, 70, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (any(all /= size*(size + 1)/2)) wrong = wrong + 1
end subroutine

program dropin
    use mpi_f08
    implicit none
    integer :: rank, size, wrong
    wrong = 0
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    call by_header(rank, size, wrong)
    call by_module(rank, size, wrong)
    call by_old_module(rank, size, wrong)
    call blocks_by_header(rank, size, wrong)
    call blocks_by_module(rank, size, wrong)
    call MPI_Finalize()
    if (wrong > 0) stop 1
end program
