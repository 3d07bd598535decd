//!tilelab block=(BLOCK_SIZE, BLOCK_SIZE) grid=(ceil(Width/BLOCK_SIZE), ceil(Width/BLOCK_SIZE)) tile=BLOCK_SIZE
#define BLOCK_SIZE 32
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Ns[BLOCK_SIZE][BLOCK_SIZE];
    int i = threadIdx.y, j = threadIdx.x;
    int row = blockIdx.y * BLOCK_SIZE + i, col = blockIdx.x * BLOCK_SIZE + j;
    float value = 0;
    for (int p = 0; p * BLOCK_SIZE < Width; ++p) {
        int mc = p * BLOCK_SIZE + j, nr = p * BLOCK_SIZE + i;
        Ms[i][j] = row < Width && mc < Width ? M[row * Width + mc] : 0;
        Ns[i][j] = nr < Width && col < Width ? N[nr * Width + col] : 0;
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k) value += Ms[i][k] * Ns[k][j];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = value;
}
