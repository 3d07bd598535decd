// Matrix multiplication, P = M * N: one thread computes one element of P.
//
// M, N and P are Width x Width matrices, stored row by row. Element (row, col) of M is M[row * Width + col].
// Any Width must work. Tilelab launches enough blocks of 16 x 16 threads to cover P.
//
// Check it with:  tilelab grade starter.cu --exercise naive

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    // Which element of P does this thread compute? Use blockIdx, blockDim and threadIdx. x counts columns, y rows.
    int Row = 0;
    int Col = 0;

    // Some threads have no element: the last blocks reach past the edge.

    // Multiply row Row of M by column Col of N, and store the sum.
}
