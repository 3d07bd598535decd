#define BLOCK_SIZE 16
#define AS(i, j) As[i][j]
#define BS(i, j) Bs[i][j]
__global__ void
MatrixMulKernel( float* A, float* B, float* C, int wA)
{
    int bx = blockIdx.x, by = blockIdx.y;
    int tx = threadIdx.x, ty = threadIdx.y;
    int first = wA * BLOCK_SIZE * by;
    int last  = first + wA - 1;
    float Csub = 0;
    for (int a = first, b = BLOCK_SIZE * bx; a <= last; a += BLOCK_SIZE, b += BLOCK_SIZE * wA) {
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
        AS(ty, tx) = A[a + wA * ty + tx];
        BS(ty, tx) = B[b + wA * ty + tx];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k)
            Csub += AS(ty, k) * BS(k, tx);
        __syncthreads();
    }
    C[wA * BLOCK_SIZE * by + BLOCK_SIZE * bx + wA * ty + tx] = Csub;
}
