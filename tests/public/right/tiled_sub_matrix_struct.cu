#define BLOCK_SIZE 16
typedef struct {
    int width;
    int height;
    int stride;
    const float* elements;
} Matrix;

__device__ float get(const Matrix& m, int r, int c) {
    return r < m.height && c < m.width ? m.elements[r * m.stride + c] : 0.0f;
}

// the block of m that is `col` blocks to the right and `row` blocks down
__device__ Matrix part(Matrix m, int row, int col) {
    Matrix sub;
    sub.width = min(BLOCK_SIZE, m.width - col * BLOCK_SIZE);
    sub.height = min(BLOCK_SIZE, m.height - row * BLOCK_SIZE);
    sub.stride = m.stride;
    sub.elements = &m.elements[m.stride * BLOCK_SIZE * row + BLOCK_SIZE * col];
    return sub;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    Matrix A = {Width, Width, Width, M};
    Matrix B = {Width, Width, Width, N};
    int blockRow = blockIdx.y, blockCol = blockIdx.x;
    int row = threadIdx.y, col = threadIdx.x;
    float Cvalue = 0;
    for (int m = 0; m < (A.width + BLOCK_SIZE - 1) / BLOCK_SIZE; ++m) {
        Matrix Asub = part(A, blockRow, m);
        Matrix Bsub = part(B, m, blockCol);
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
        As[row][col] = get(Asub, row, col);
        Bs[row][col] = get(Bsub, row, col);
        __syncthreads();
        for (int e = 0; e < BLOCK_SIZE; ++e) Cvalue += As[row][e] * Bs[e][col];
        __syncthreads();
    }
    int r = blockRow * BLOCK_SIZE + row, c = blockCol * BLOCK_SIZE + col;
    if (r < Width && c < Width) P[r * Width + c] = Cvalue;
}
