// A matrix product with one thread for each element of P. SWAPPED decides whether threadIdx.x counts columns or rows.
//
// The threads of a warp differ in threadIdx.x. With SWAPPED 0 they are neighbours in a row of P. They read the same
// element of M and 32 neighbouring elements of N, which is one line of memory. With SWAPPED 1 they are neighbours in a
// column of P. They read 32 elements of M in 32 different lines, so nothing is coalesced. Both products are correct.

#define SWAPPED 0
//!tilelab block=(32,32) grid=(ceil(Width/32), ceil(Width/32))

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int row = SWAPPED ? x : y;
    int column = SWAPPED ? y : x;

    if (row < Width && column < Width) {
        float sum = 0.0f;
        for (int k = 0; k < Width; ++k) {
            sum += M[row * Width + k] * N[k * Width + column];
        }
        P[row * Width + column] = sum;
    }
}
