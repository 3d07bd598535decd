// Blocked multiplication of rectangles, C = A * B. Only the launch decides the block size.
//
// Replace every ____ below. Tilelab points to the first blank that is left.
//
// Check it with:  tilelab grade starter.cu --exercise lab6-occupancy

// Tilelab compiles your file with other sizes. These are for your own tests. Keep the #ifndef around them.
#ifndef A_HEIGHT
#define A_HEIGHT 64
#endif
#ifndef A_WIDTH
#define A_WIDTH 96
#endif
#ifndef B_WIDTH
#define B_WIDTH 128
#endif
#define B_HEIGHT A_WIDTH
#define C_WIDTH B_WIDTH
#define C_HEIGHT A_HEIGHT

__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[B_HEIGHT][B_WIDTH];
__device__ float d_C[C_HEIGHT][C_WIDTH];

// This isn't a macro but a variable in constant memory. The launch sets it, so it has no value here.
____ int BLOCK_SIZE;

__global__ void matrixMulCUDA() {
    // The launch provides one linear piece of shared memory. Where in it does each of the two sub matrices begin?
    ____ float sub[];
    float* As = ____;
    float* Bs = ____;

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int x = blockIdx.x * BLOCK_SIZE + tx;
    int y = blockIdx.y * BLOCK_SIZE + ty;

    float Csub = 0.0f;
    for (int i = 0; i < A_WIDTH / BLOCK_SIZE; ++i) {
        // The sub matrices have one dimension now. Which element is row ty, column tx?
        As[____] = d_A[y][i * BLOCK_SIZE + tx];
        Bs[____] = d_B[i * BLOCK_SIZE + ty][x];
        __syncthreads();

        for (int k = 0; k < BLOCK_SIZE; ++k) {
            Csub += As[____] * Bs[____];
        }
        __syncthreads();
    }
    d_C[y][x] = Csub;
}
