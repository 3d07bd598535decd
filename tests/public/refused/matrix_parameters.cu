typedef struct { int width, height, stride; float* elements; } Matrix;
__global__ void MatrixMulKernel(Matrix A, Matrix B, Matrix C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < C.height && col < C.width) {
        float v = 0;
        for (int e = 0; e < A.width; ++e) v += A.elements[row * A.stride + e] * B.elements[e * B.stride + col];
        C.elements[row * C.stride + col] = v;
    }
}
